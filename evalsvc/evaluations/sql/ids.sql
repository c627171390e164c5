-- Ids sort by time: milliseconds since 2026-01-01, then 22 bits of a sequence.

-- The lowest id of a millisecond.
CREATE OR REPLACE FUNCTION id_at(p_at timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (floor(extract(epoch FROM p_at) * 1000)::bigint - 1767225600000) << 22;

-- The first day of the month of an id, by UTC.
CREATE OR REPLACE FUNCTION month_of(p_id bigint) RETURNS date LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN date_trunc('month', timestamp '2026-01-01' + (p_id >> 22) * interval '1 millisecond')::date;

-- So many new ids of one millisecond, ascending. A request and its evaluations get theirs from one call: they stand in one
-- partition then, and those that begin a statement stand before those that end it.
CREATE OR REPLACE FUNCTION next_ids(p_n int) RETURNS bigint[] LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  moment bigint := id_at(clock_timestamp());
  drawn bigint[] := '{}';
BEGIN
  FOR i IN 1 .. p_n LOOP
    drawn := drawn || (moment | nextval('next_id_sequence'));
  END LOOP;
  -- Rarely: the sequence is a circle.
  IF drawn[p_n] < drawn[1] THEN
    SELECT array_agg(d ORDER BY d) INTO drawn FROM unnest(drawn) d;
  END IF;
  RETURN drawn;
END $$;

-- Where the evaluations of a request stand: from here to before there. Said beside each `request_id =`, it leaves one
-- partition (at a month's end two) to look at instead of all. Evaluations have their request's millisecond; those of older
-- versions were numbered moments later.
CREATE OR REPLACE FUNCTION ids_from(p_request bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_request >> 22 << 22;

CREATE OR REPLACE FUNCTION ids_until(p_request bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ((p_request >> 22) + 3600000) << 22;
