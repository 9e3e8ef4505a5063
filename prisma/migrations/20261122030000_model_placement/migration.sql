-- Model placement: which pools of workers hold which models, as operators want it, and what the workers say they hold.

-- CreateTable: one wish each. `replicas` null: every worker of the pool.
CREATE TABLE "model_placements" (
    "model_id" TEXT NOT NULL,
    "pool" TEXT NOT NULL,
    "pinned" BOOLEAN NOT NULL DEFAULT false,
    "replicas" INTEGER CHECK ("replicas" BETWEEN 1 AND 10000),
    "placed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "model_placements_pkey" PRIMARY KEY ("model_id", "pool"),
    CONSTRAINT "model_placements_model_id_fkey" FOREIGN KEY ("model_id") REFERENCES "models"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable: one row, counted up with every change, so that workers tell an old announcement from a new one.
CREATE TABLE "placement_revision" (
    "id" BOOLEAN NOT NULL DEFAULT true CHECK ("id"),
    "revision" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "placement_revision_pkey" PRIMARY KEY ("id")
);

INSERT INTO "placement_revision" DEFAULT VALUES;

-- CreateTable: the newest heartbeat of each worker, written by ops for the command line. Unlogged: it is heard anew
-- within seconds.
CREATE UNLOGGED TABLE "worker_holdings" (
    "process_id" TEXT NOT NULL,
    "holdings" JSONB NOT NULL,
    "seen_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "worker_holdings_pkey" PRIMARY KEY ("process_id")
);
