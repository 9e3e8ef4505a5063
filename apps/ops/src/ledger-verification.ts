import { createLedger, LedgerService, LedgerVerifier } from '#billing';
import { Injectable } from '#platform/injection';
import { LedgerVerificationDatabase } from './ledger-verification.database.js';

/** Verifies over connections of its own: open reservations are counted at every scrape, which must not wait for it. */
@Injectable()
export class LedgerVerification extends LedgerVerifier {
  private readonly ledger: LedgerService;

  constructor(database: LedgerVerificationDatabase) {
    super();
    this.ledger = createLedger(database);
  }

  verify(): ReturnType<LedgerVerifier['verify']> {
    return this.ledger.verifyAndRecord();
  }
}
