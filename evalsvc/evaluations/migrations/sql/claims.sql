-- Where a claim looks, in this order, until it finds something: first at the partitions of this month and the last one,
-- which have nearly all that waits, then at all of them. One claim of twenty looks at all at once: what has waited for
-- months, or has ids of a clock that ran ahead, must not wait until nothing else does.
CREATE OR REPLACE FUNCTION claimed_ranges(p_at timestamptz) RETURNS TABLE (low bigint, high bigint)
LANGUAGE plpgsql SECURITY INVOKER AS $$
BEGIN
  IF random() >= 0.05 THEN
    low := start_of_month(id_at(p_at), -1);
    high := start_of_month(id_at(p_at), 1);
    RETURN NEXT;
  END IF;
  low := -9223372036854775808;
  high := 9223372036854775807;
  RETURN NEXT;
END $$;
