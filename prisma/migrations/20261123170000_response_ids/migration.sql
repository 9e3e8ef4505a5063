-- The id in the body of a response, where it is not the request id.
ALTER TABLE "jobs" ADD COLUMN "response_id" TEXT;
