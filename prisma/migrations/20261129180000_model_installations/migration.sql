-- CreateEnum
CREATE TYPE "model_installation_state" AS ENUM ('waiting', 'pulling', 'converting', 'registering', 'installed', 'failed', 'cancelled');

-- CreateTable: one row per model that an operator asked to install. The process that has the model store leases it.
CREATE TABLE "model_installations" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "reference" TEXT NOT NULL,
    "options" JSONB NOT NULL DEFAULT '{}',
    "requested_by" UUID,
    "state" "model_installation_state" NOT NULL DEFAULT 'waiting',
    "model_id" TEXT,
    "progress" JSONB,
    "note" TEXT,
    "error_code" TEXT,
    "error" TEXT,
    "attempt" INTEGER NOT NULL DEFAULT 0,
    "owner" TEXT,
    "lease_token" UUID,
    "leased_until" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "model_installations_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "model_installations_requested_by_fkey" FOREIGN KEY ("requested_by") REFERENCES "api_keys"("id") ON DELETE SET NULL ON UPDATE CASCADE
);

CREATE INDEX "model_installations_created_at_id_idx" ON "model_installations"("created_at", "id");
CREATE INDEX "model_installations_finished_at_idx" ON "model_installations"("finished_at");
-- One installation of a reference at a time; also the few rows that owners look for.
CREATE UNIQUE INDEX "model_installations_open_key" ON "model_installations"("reference")
 WHERE "state" IN ('waiting', 'pulling', 'converting', 'registering');

-- CreateTable: processes that have a model store and install models into it, as they last reported.
CREATE TABLE "model_installers" (
    "id" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "import_folder" TEXT NOT NULL,
    "free_bytes" BIGINT NOT NULL,
    "installed" JSONB NOT NULL DEFAULT '[]',
    "seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "model_installers_pkey" PRIMARY KEY ("id")
);
