-- Jobs whose caller does not wait: what retrieving and completing them needs beside the row of the job. A table of its
-- own, so that the rows of quick jobs stay narrow.
CREATE TYPE "media_delivery" AS ENUM ('inline', 'link');

CREATE TABLE "media_jobs" (
    "request_id" TEXT NOT NULL,
    -- what callers know the job by
    "queue_id" UUID NOT NULL,
    "model_id" TEXT NOT NULL,
    -- bytes in the answer, or a download link that was given out when the job was queued
    "delivery" "media_delivery" NOT NULL DEFAULT 'inline',
    -- ids in the artifact storage; inputs are deleted when the job has ended
    "input_artifacts" TEXT[] NOT NULL DEFAULT '{}',
    "result_artifacts" TEXT[] NOT NULL DEFAULT '{}',
    -- as far as a worker has told; of operators' interest, nothing is decided by it
    "progress_percent" SMALLINT NOT NULL DEFAULT 0,
    -- for callers, of a job that failed
    "error_message" TEXT,
    -- how long a successful one took: what later callers are told to expect
    "succeeded_in_ms" INTEGER,
    "closed_at" TIMESTAMPTZ(3),
    -- the caller has taken the result and let it be deleted
    "deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "media_jobs_pkey" PRIMARY KEY ("request_id"),
    CONSTRAINT "media_jobs_percent_check" CHECK ("progress_percent" BETWEEN 0 AND 100)
);

CREATE UNIQUE INDEX "media_jobs_queue_id_key" ON "media_jobs"("queue_id");

-- The last runs of a model.
CREATE INDEX "media_jobs_model_id_closed_at_idx" ON "media_jobs"("model_id", "closed_at");

ALTER TABLE "media_jobs" ADD CONSTRAINT "media_jobs_request_id_fkey" FOREIGN KEY ("request_id") REFERENCES "jobs"("request_id") ON DELETE CASCADE ON UPDATE CASCADE;

-- What has become of download links. A link that nobody has used yet has no row: that it is good says its signature.
CREATE TABLE "download_links" (
    "artifact_id" TEXT NOT NULL,
    -- the network of the first download; others get none
    "network" TEXT,
    "downloads" INTEGER NOT NULL DEFAULT 0,
    "revoked_at" TIMESTAMPTZ(3),
    -- requests since then, whatever their answer
    "window_start" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "window_requests" INTEGER NOT NULL DEFAULT 0,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "download_links_pkey" PRIMARY KEY ("artifact_id")
);

CREATE INDEX "download_links_expires_at_idx" ON "download_links"("expires_at");
