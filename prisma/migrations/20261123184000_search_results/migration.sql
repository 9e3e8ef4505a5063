-- Results of recent web searches. The key is an HMAC of the query, the content is encrypted. Losing rows costs a search.
CREATE UNLOGGED TABLE "search_results" (
    "id" TEXT NOT NULL,
    "ciphertext" BYTEA NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "search_results_pkey" PRIMARY KEY ("id")
);

CREATE INDEX "search_results_expires_at_idx" ON "search_results" ("expires_at");
