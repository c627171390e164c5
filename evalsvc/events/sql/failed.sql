-- Verdicts that fail a profile enter the outbox in their own transaction, whichever way they were written. Nothing is
-- called for a verdict that passes, and an account without an endpoint for them pays a look at an index.
CREATE OR REPLACE FUNCTION announce_failed() RETURNS trigger LANGUAGE plpgsql SECURITY INVOKER AS $$
BEGIN
  -- What an import brings, or a partition that is packed anew, has not happened now.
  IF NEW.created_at > clock_timestamp() - interval '1 day' AND EXISTS (
    SELECT 1 FROM events_eventendpoint t
    WHERE t.account_id = NEW.account_id AND t.is_enabled AND 'evaluation.failed' = ANY (t.event_types))
  THEN
    INSERT INTO events_outboxevent (id, account_id, type, dedupe, payload)
    VALUES (
      'evt_' || replace(gen_random_uuid()::text, '-', ''), NEW.account_id, 'evaluation.failed', NEW.id::text,
      jsonb_build_object(
        'evaluation_id', NEW.id::text, 'evaluator_id', NEW.evaluator_id, 'profile_id', NEW.profile_id,
        'profile_name', NEW.profile_name, 'profile_revision', NEW.profile_revision, 'score', NEW.score,
        'pass', NEW.passed, 'project_id', NEW.project_id, 'app', NEW.app, 'experiment_id', NEW.experiment_id::text))
    ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;

DO $$
BEGIN
  IF NOT EXISTS (
    SELECT 1 FROM pg_trigger WHERE tgrelid = 'evaluations_evaluation'::regclass AND tgname = 'announce_failed')
  THEN
    CREATE TRIGGER announce_failed AFTER INSERT OR UPDATE OF passed, captured ON evaluations_evaluation FOR EACH ROW
    WHEN (NEW.captured AND NEW.passed IS FALSE AND NEW.evaluation_type = 'patronus_evaluation')
    EXECUTE FUNCTION announce_failed();
  END IF;
END $$;
