-- Documents of characters, in passages with their vectors, for answers from them.

-- the model that embedded the documents; null: there are none
ALTER TABLE "characters" ADD COLUMN "documents_model" TEXT;

CREATE TABLE "character_documents" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "character_id" UUID NOT NULL,
    -- path in the folder that was added
    "name" TEXT NOT NULL,
    -- of the file
    "sha256" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "character_documents_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "character_documents_character_id_fkey" FOREIGN KEY ("character_id") REFERENCES "characters"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE UNIQUE INDEX "character_documents_character_id_name_key" ON "character_documents"("character_id", "name");

CREATE TABLE "character_passages" (
    "document_id" UUID NOT NULL,
    -- from 0
    "position" INTEGER NOT NULL,
    "character_id" UUID NOT NULL,
    "text" TEXT NOT NULL,
    -- of length 1, so that the product of two is their cosine
    "embedding" REAL[] NOT NULL,

    CONSTRAINT "character_passages_pkey" PRIMARY KEY ("document_id", "position"),
    CONSTRAINT "character_passages_document_id_fkey" FOREIGN KEY ("document_id") REFERENCES "character_documents"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE INDEX "character_passages_character_id_idx" ON "character_passages"("character_id");
