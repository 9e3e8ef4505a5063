import { applyDecorators, Controller, Get, Query } from '@nestjs/common';
import { type AccountBalance, type EntryPosition, LedgerService, type PlacedLine } from '#billing';
import { formatNanos } from '#common';
import { AccountTopUpsRepository, type TopUp } from '#payments';
import { Access, ApiRoute, type DocumentedRoute, Exchange, type HttpExchange } from '#platform/http';
import { adminErrors, adminRoute, PageQuery } from '../admin.document.js';
import { isMoment, pageOf, readCursor, readLimit, writeCursor } from '../admin-query.js';
import {
  type AdminBalancesResponse,
  AdminBillingResponse,
  type AdminEntryResponse,
  type AdminTopUpResponse,
} from './billing.response.js';

const decimals = 9;
const shownTopUps = 20;

const document: DocumentedRoute = {
  ...adminRoute,
  operationId: 'getAdminBilling',
  summary: 'Show balances and the entries of the ledger',
  description:
    'What the account can spend, what open requests have reserved, its top-ups, and every entry, newest first.',
  responses: { 200: { json: AdminBillingResponse } },
  errors: [...adminErrors, 504],
};

const BillingRoute = (): MethodDecorator => applyDecorators(ApiRoute(document), PageQuery());

@Controller('billing')
export class AdminBillingController {
  constructor(
    private readonly ledger: LedgerService,
    private readonly topUps: AccountTopUpsRepository,
  ) {}

  @Get()
  @Access('admin')
  @BillingRoute()
  async billing(@Exchange() { caller }: HttpExchange, @Query() query: unknown): Promise<AdminBillingResponse> {
    const limit = readLimit(query);
    const after = readCursor(query, positionIn);
    const balance = await this.ledger.balance(caller.accountId);
    const found = await this.ledger.entriesAfter(caller.accountId, after, limit + 1);
    const { rows, nextCursor } = pageOf(found, limit, cursorOf);
    return {
      balances: presentBalances(balance),
      reserved: formatNanos(balance.heldNano, decimals),
      entries: { data: rows.map(presentEntry), nextCursor },
      topUps: (await this.topUps.latest(caller.accountId, shownTopUps)).map(presentTopUp),
    };
  }
}

function presentBalances({ usdNano, bundledNano, diemNano, diemAllowanceNano }: AccountBalance): AdminBalancesResponse {
  return {
    usd: formatNanos(usdNano, decimals),
    bundled: formatNanos(bundledNano, decimals),
    diem: formatNanos(diemNano, decimals),
    diemAllowance: formatNanos(diemAllowanceNano, decimals),
  };
}

function presentEntry({
  entryId,
  enteredAt,
  kind,
  currency,
  amountNano,
  sku,
  requestId,
  note,
}: PlacedLine): AdminEntryResponse {
  return {
    id: String(entryId),
    at: enteredAt.toISOString(),
    kind,
    currency,
    amount: formatNanos(amountNano, decimals),
    sku,
    requestId,
    note,
  };
}

function presentTopUp({
  id,
  createdAt,
  state,
  network,
  amountNano,
  postedNano,
  transaction,
  message,
}: TopUp): AdminTopUpResponse {
  return {
    ...{ id, at: createdAt.toISOString(), state, network, transaction, message },
    amount: formatNanos(amountNano, decimals),
    credited: formatNanos(postedNano, decimals),
  };
}

function cursorOf({ enteredAt, entryId }: PlacedLine): string {
  return writeCursor([enteredAt.getTime(), String(entryId)]);
}

function positionIn([createdAtMs, entryId]: unknown[]): EntryPosition | null {
  if (!isMoment(createdAtMs) || typeof entryId !== 'string' || !/^\d{1,18}$/.test(entryId)) return null;
  return { createdAtMs, entryId: BigInt(entryId) };
}
