-- The canonical form of a signed receipt. Null: the host issued none.
ALTER TABLE "exchange_signatures" ADD COLUMN "receipt" TEXT;
