-- CreateEnum
CREATE TYPE "api_key_kind" AS ENUM ('INFERENCE', 'ADMIN');

-- CreateEnum
CREATE TYPE "model_alias_kind" AS ENUM ('alias', 'trait');

-- CreateEnum
CREATE TYPE "job_state" AS ENUM ('queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired');

-- CreateTable
CREATE TABLE "accounts" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "accounts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "api_keys" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "account_id" UUID NOT NULL,
    "kind" "api_key_kind" NOT NULL,
    "key_hash" BYTEA NOT NULL,
    "last6" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "expires_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "api_keys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "models" (
    "id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "manifest" JSONB NOT NULL,
    "disabled" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "models_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "model_aliases" (
    "name" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "kind" "model_alias_kind" NOT NULL,
    "model_id" TEXT NOT NULL,
    "rank" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "model_aliases_pkey" PRIMARY KEY ("kind","type","name","model_id")
);

-- CreateTable
CREATE TABLE "jobs" (
    "request_id" TEXT NOT NULL,
    "account_id" UUID NOT NULL,
    "api_key_id" UUID NOT NULL,
    "modality" TEXT NOT NULL,
    "model_id" TEXT NOT NULL,
    "state" "job_state" NOT NULL DEFAULT 'queued',
    "attempt" INTEGER NOT NULL DEFAULT 1,
    "stream" BOOLEAN NOT NULL DEFAULT false,
    "reply_to" TEXT,
    "error_code" TEXT,
    "prompt_tokens" INTEGER,
    "cached_tokens" INTEGER,
    "completion_tokens" INTEGER,
    "reasoning_tokens" INTEGER,
    "execution_ms" INTEGER,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "enqueued_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "deadline_at" TIMESTAMPTZ(3) NOT NULL,
    "started_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "jobs_pkey" PRIMARY KEY ("request_id")
);

-- CreateTable
CREATE TABLE "job_payloads" (
    "request_id" TEXT NOT NULL,
    "ciphertext" BYTEA NOT NULL,

    CONSTRAINT "job_payloads_pkey" PRIMARY KEY ("request_id")
);

-- CreateTable
CREATE TABLE "outcomes" (
    "request_id" TEXT NOT NULL,
    "attempt" INTEGER NOT NULL,
    "status" TEXT NOT NULL,
    "applied" BOOLEAN NOT NULL,
    "processed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "outcomes_pkey" PRIMARY KEY ("request_id","attempt")
);

-- CreateIndex
CREATE UNIQUE INDEX "api_keys_key_hash_key" ON "api_keys"("key_hash");

-- CreateIndex
CREATE INDEX "api_keys_account_id_idx" ON "api_keys"("account_id");

-- CreateIndex
CREATE INDEX "model_aliases_model_id_idx" ON "model_aliases"("model_id");

-- CreateIndex
CREATE INDEX "jobs_account_id_created_at_idx" ON "jobs"("account_id", "created_at");

-- The sweeps read open rows alone, and closed ones soon outnumber them: a partial index stays small.
CREATE INDEX "jobs_open_deadline_idx" ON "jobs"("deadline_at") WHERE "state" IN ('queued', 'running');
CREATE INDEX "jobs_open_enqueued_idx" ON "jobs"("enqueued_at") WHERE "state" IN ('queued', 'running');

-- A closed row says when it ended, an open one never does.
ALTER TABLE "jobs" ADD CONSTRAINT "jobs_finished_when_closed" CHECK (("state" IN ('queued', 'running')) = ("finished_at" IS NULL));

-- AddForeignKey
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "model_aliases" ADD CONSTRAINT "model_aliases_model_id_fkey" FOREIGN KEY ("model_id") REFERENCES "models"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "jobs" ADD CONSTRAINT "jobs_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "job_payloads" ADD CONSTRAINT "job_payloads_request_id_fkey" FOREIGN KEY ("request_id") REFERENCES "jobs"("request_id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "outcomes" ADD CONSTRAINT "outcomes_request_id_fkey" FOREIGN KEY ("request_id") REFERENCES "jobs"("request_id") ON DELETE CASCADE ON UPDATE CASCADE;
