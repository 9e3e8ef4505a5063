import { Controller, Get, Param, Query } from '@nestjs/common';
import { readWalletAddress } from '#accounts';
import { AccountTransactions, LedgerService } from '#billing';
import { displayNanos, PlatformError } from '#common';
import { PaymentOffers } from '#payments';
import { Exchange, type HttpExchange, queryFault, queryText } from '#platform/http';
import { minimumBalanceNano, suggestedTopUpUsd } from './payment-answers.js';
import { BalanceDocument, TransactionsDocument } from './wallets.document.js';
import {
  presentTransactions,
  type WalletBalanceResponse,
  type WalletTransactionsResponse,
} from './wallets.response.js';

const defaultLimit = 50;
const maxLimit = 100;
/** The work of a page grows with it. */
const maxOffset = 100_000;

/** What a wallet sees of its account. */
@Controller('x402')
export class WalletsController {
  constructor(
    private readonly ledger: LedgerService,
    private readonly transactions: AccountTransactions,
    private readonly offers: PaymentOffers,
  ) {}

  @Get('balance/:walletAddress')
  @BalanceDocument()
  async balance(
    @Param('walletAddress') address: string,
    @Exchange() http: HttpExchange,
  ): Promise<WalletBalanceResponse> {
    const { accountId, walletAddress } = ownerOf(address, http);
    const { diemNano, bundledNano, usdNano, diemAllowanceNano } = await this.ledger.balance(accountId);
    const data = {
      walletAddress,
      balanceUsd: displayNanos(bundledNano + usdNano),
      canConsume: diemNano + bundledNano + usdNano >= minimumBalanceNano,
      minimumTopUpUsd: displayNanos(this.offers.minNano),
      suggestedTopUpUsd: suggestedTopUpUsd(this.offers),
      ...((diemNano > 0n || diemAllowanceNano > 0n) && { diemBalanceUsd: displayNanos(diemNano) }),
    };
    return { success: true, data };
  }

  @Get('transactions/:walletAddress')
  @TransactionsDocument()
  async list(
    @Param('walletAddress') address: string,
    @Query() query: unknown,
    @Exchange() http: HttpExchange,
  ): Promise<WalletTransactionsResponse> {
    const { accountId, walletAddress } = ownerOf(address, http);
    const page = {
      limit: numberFrom(query, { name: 'limit', defaultValue: defaultLimit, minimum: 1, maximum: maxLimit }),
      offset: numberFrom(query, { name: 'offset', defaultValue: 0, minimum: 0, maximum: maxOffset }),
    };
    return presentTransactions(walletAddress, page, await this.transactions.page(accountId, page));
  }
}

/** Throws unless the wallet in the path is the one that signed in. */
function ownerOf(text: string, { caller }: HttpExchange): { accountId: string; walletAddress: string } {
  const address = readWalletAddress(text);
  if (address === null) {
    const message = 'walletAddress must be 0x and 40 hex digits, or the base58 of a Solana account.';
    throw queryFault('walletAddress', message, 'invalid_string');
  }
  const { accountId, wallet } = caller;
  if (wallet === address.stored) return { accountId, walletAddress: wallet };
  throw new PlatformError(
    'X402_WALLET_MISMATCH',
    'The wallet that signed in is not the one in the path.',
    'walletAddress',
  );
}

interface NumberParameter {
  name: string;
  defaultValue: number;
  minimum: number;
  maximum: number;
}

/** An empty value counts as none, as `offset=` of clients that write null so. */
function numberFrom(query: unknown, { name, defaultValue, minimum, maximum }: NumberParameter): number {
  const text = queryText(query, name) ?? '';
  if (text === '') return defaultValue;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= minimum && value <= maximum) return value;
  throw queryFault(name, `${name} must be a whole number from ${minimum} to ${maximum}.`);
}
