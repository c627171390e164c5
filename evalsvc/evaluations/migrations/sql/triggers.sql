CREATE OR REPLACE TRIGGER forget_tags AFTER DELETE ON evaluations_evaluation
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION forget_tags();
CREATE OR REPLACE TRIGGER keep_tags AFTER UPDATE OF created_at, captured ON evaluations_evaluation FOR EACH ROW
  WHEN (OLD.created_at <> NEW.created_at OR OLD.captured IS DISTINCT FROM NEW.captured)
  EXECUTE FUNCTION keep_tags();

CREATE OR REPLACE TRIGGER note_rollups_in AFTER INSERT ON evaluations_evaluation
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_rollups();
CREATE OR REPLACE TRIGGER note_rollups_out AFTER DELETE ON evaluations_evaluation
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_rollups();
-- Leases change none of these columns.
CREATE OR REPLACE TRIGGER note_rollups_change
  AFTER UPDATE OF captured, in_history, score, passed, error_code, created_at, app, evaluator_id, profile_name
  ON evaluations_evaluation FOR EACH ROW
  -- One by one: two rows compared are written otherwise after a restore, and a backup compares what is written.
  WHEN ((OLD.captured OR NEW.captured) AND (
    OLD.captured IS DISTINCT FROM NEW.captured OR OLD.in_history IS DISTINCT FROM NEW.in_history
    OR OLD.score IS DISTINCT FROM NEW.score OR OLD.passed IS DISTINCT FROM NEW.passed
    OR OLD.error_code IS DISTINCT FROM NEW.error_code OR OLD.created_at IS DISTINCT FROM NEW.created_at
    OR OLD.app IS DISTINCT FROM NEW.app OR OLD.evaluator_id IS DISTINCT FROM NEW.evaluator_id
    OR OLD.profile_name IS DISTINCT FROM NEW.profile_name))
  EXECUTE FUNCTION note_changed_rollup();
