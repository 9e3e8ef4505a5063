-- Lists and limits of keys ask for those that are active and those that expired last: neither reads all that ever expired.
CREATE INDEX "api_keys_expiry_idx" ON "api_keys"("account_id", "expires_at", "id") WHERE "revoked_at" IS NULL;
DROP INDEX "api_keys_active_idx";
