-- Accounts that may use models in closed beta.
ALTER TABLE "accounts" ADD COLUMN "beta_access" BOOLEAN NOT NULL DEFAULT false;
