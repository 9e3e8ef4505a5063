-- What the console shows about a request: the worker that ran it, and how long its first token took there. Both are written
-- when the job is closed.
ALTER TABLE "jobs" ADD COLUMN "worker" TEXT, ADD COLUMN "first_token_ms" INTEGER;
