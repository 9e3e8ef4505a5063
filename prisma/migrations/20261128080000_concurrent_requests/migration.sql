-- Limits of concurrent requests: what operators have set, and, where there is no Redis, the open requests themselves.

-- AlterTable: requests of an account or of a key that may be open at once.
ALTER TABLE "rate_limit_overrides"
    ADD COLUMN "concurrent_requests" BIGINT CHECK ("concurrent_requests" BETWEEN 0 AND 1000000),
    DROP CONSTRAINT "rate_limit_overrides_says_something",
    ADD CONSTRAINT "rate_limit_overrides_says_something" CHECK
        ("requests_per_minute" IS NOT NULL OR "tokens_per_minute" IS NOT NULL OR "concurrent_requests" IS NOT NULL);

-- CreateTable: one row per open request and limit. A replica that dies leaves rows behind that expire. Unlogged: after a
-- crash of the server no request is open.
CREATE UNLOGGED TABLE "rate_limit_leases" (
    "key" TEXT NOT NULL,
    "lease_id" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "rate_limit_leases_pkey" PRIMARY KEY ("key", "lease_id")
);

-- CreateIndex
CREATE INDEX "rate_limit_leases_lease_id_idx" ON "rate_limit_leases"("lease_id");

-- Opens a request for all keys or, when one of them has no room, for none. Returns how many others are open for each. One
-- call after the other for each key: what follows the lock sees what the call before has committed. Callers name keys in
-- one order of kinds, so that no two of them wait for each other.
CREATE FUNCTION rate_limit_open(p_lease text, p_keys text[], p_limits bigint[], p_ms bigint) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
  counts bigint[] := '{}';
  others bigint;
  granted boolean := true;
BEGIN
  FOR i IN 1 .. cardinality(p_keys) LOOP
    PERFORM pg_advisory_xact_lock(hashtextextended('rate_limit_open ' || p_keys[i], 0));
    DELETE FROM rate_limit_leases WHERE key = p_keys[i] AND expires_at <= clock_timestamp();
    SELECT count(*) INTO others FROM rate_limit_leases WHERE key = p_keys[i] AND lease_id <> p_lease;
    counts := counts || others;
    granted := granted AND others < p_limits[i];
  END LOOP;
  IF granted THEN
    INSERT INTO rate_limit_leases (key, lease_id, expires_at)
      SELECT key, p_lease, clock_timestamp() + p_ms * interval '1 ms' FROM unnest(p_keys) AS key
    ON CONFLICT (key, lease_id) DO UPDATE SET expires_at = EXCLUDED.expires_at;
  END IF;
  RETURN jsonb_build_object('granted', granted, 'open', to_jsonb(counts));
END $$;
