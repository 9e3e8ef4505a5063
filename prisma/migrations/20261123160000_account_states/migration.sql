-- The keys of an account that is not active are refused.
CREATE TYPE "account_state" AS ENUM ('active', 'suspended', 'closed');
ALTER TABLE "accounts" ADD COLUMN "state" "account_state" NOT NULL DEFAULT 'active';
