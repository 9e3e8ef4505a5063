-- The requests of one account, the latest first. A job enters when it is closed, so an admission writes nothing more
-- (docs/decisions/requests-by-account.md).
CREATE INDEX "jobs_account_id_finished_at_idx" ON "jobs"("account_id", "finished_at") WHERE "finished_at" IS NOT NULL;
