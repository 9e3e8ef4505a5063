-- What the console shows about a request: the worker that ran it, and how long its first token took there. Both are written
-- when the job is closed.
ALTER TABLE "jobs" ADD COLUMN "worker" TEXT, ADD COLUMN "first_token_ms" INTEGER;

-- The requests of one account, the latest first. A job enters when it is closed, so an admission writes nothing more
-- (docs/decisions/requests-by-account.md).
CREATE INDEX "jobs_account_id_finished_at_idx" ON "jobs"("account_id", "finished_at") WHERE "finished_at" IS NOT NULL;
