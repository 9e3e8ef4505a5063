-- Characters: personas that chats can take on, with their reviews.
CREATE TABLE "characters" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "slug" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT,
    "system_prompt" TEXT NOT NULL,
    "greeting" TEXT,
    -- a registry id, trait or alias
    "model_id" TEXT NOT NULL DEFAULT 'default',
    "tags" TEXT[] NOT NULL DEFAULT ARRAY[]::TEXT[],
    "author" TEXT NOT NULL,
    "adult" BOOLEAN NOT NULL DEFAULT false,
    "featured" BOOLEAN NOT NULL DEFAULT false,
    "web_enabled" BOOLEAN NOT NULL DEFAULT false,
    "photo_url" TEXT,
    "share_url" TEXT,
    -- chats that used it
    "uses" BIGINT NOT NULL DEFAULT 0,
    -- of its reviews, kept in the transactions that write them
    "rating_count" INTEGER NOT NULL DEFAULT 0,
    "rating_sum" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "characters_pkey" PRIMARY KEY ("id")
);

CREATE UNIQUE INDEX "characters_slug_key" ON "characters"("slug");

CREATE TABLE "character_reviews" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "character_id" UUID NOT NULL,
    -- null for a review of the operator
    "account_id" UUID,
    "rating" INTEGER NOT NULL,
    "message" TEXT,
    "username" TEXT NOT NULL,
    "locale" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "character_reviews_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "character_reviews_rating_check" CHECK ("rating" BETWEEN 1 AND 5),
    CONSTRAINT "character_reviews_character_id_fkey" FOREIGN KEY ("character_id") REFERENCES "characters"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "character_reviews_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE SET NULL ON UPDATE CASCADE
);

CREATE UNIQUE INDEX "character_reviews_character_id_account_id_key" ON "character_reviews"("character_id", "account_id");
CREATE INDEX "character_reviews_character_id_created_at_idx" ON "character_reviews"("character_id", "created_at");

-- Characters that came with the product and were installed. The rows stay when the operator removes the characters.
CREATE TABLE "bundled_characters" (
    "slug" TEXT NOT NULL,
    -- of what was installed
    "content_sha256" TEXT NOT NULL,
    "installed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "bundled_characters_pkey" PRIMARY KEY ("slug")
);
