import { Controller, Get, Param, Query } from '@nestjs/common';
import { LedgerService } from '#billing';
import { dayBorders } from '#billing/usage';
import { PlatformError } from '#common';
import {
  JobInspectionRepository,
  positionOf,
  type RequestFilter,
  RequestListRepository,
  type RequestPosition,
} from '#jobs/inspection';
import { Access, Exchange, type HttpExchange, queryText } from '#platform/http';
import {
  isMoment,
  pageOf,
  readChoice,
  readCursor,
  ownScope,
  readLimit,
  readScope,
  readText,
  writeCursor,
} from '../admin-query.js';
import { readDayRange } from '../day-range.query.js';
import { RequestListRoute, RequestRoute } from './requests.document.js';
import { presentDetail, presentRow } from './requests.presenter.js';
import { type RequestDetailResponse, type RequestListResponse, requestStates } from './requests.response.js';

@Controller('requests')
export class RequestsController {
  constructor(
    private readonly requests: RequestListRepository,
    private readonly jobs: JobInspectionRepository,
    private readonly ledger: LedgerService,
  ) {}

  @Get()
  @Access('inference', { shared: true })
  @RequestListRoute()
  async list(@Exchange() { caller }: HttpExchange, @Query() query: unknown): Promise<RequestListResponse> {
    const limit = readLimit(query);
    const state = readChoice(query, 'state', requestStates);
    const filter: RequestFilter = {
      ...readScope(query, caller),
      ...rangeOf(query),
      modelId: readText(query, 'model'),
      states: state === null ? null : [state],
      id: readText(query, 'id'),
    };
    const found = await this.requests.page(filter, readCursor(query, positionIn), limit + 1);
    const { rows, nextCursor } = pageOf(found, limit, (row) => cursorOf(positionOf(row)));
    const nowMs = Date.now();
    return { data: rows.map((row) => presentRow(row, nowMs)), nextCursor };
  }

  @Get(':id')
  @Access('inference')
  @RequestRoute()
  async show(@Exchange() { caller }: HttpExchange, @Param('id') id: string): Promise<RequestDetailResponse> {
    // An operator may look up any request.
    const scope = caller.isOperator === true ? { accountId: null, apiKeyId: null } : ownScope(caller);
    const filter = { ...scope, id, modelId: null, states: null, fromMs: null, toMs: null };
    // The filter decides whether the request is one of the caller's; others do not exist here.
    const [row] = id.includes('\0') ? [] : await this.requests.page(filter, null, 1);
    const job = row === undefined ? null : await this.jobs.find(row.requestId);
    if (row === undefined || job === null) {
      const message = 'There is no such request. Refused requests are only in the log.';
      throw new PlatformError('NOT_FOUND', message, 'id');
    }
    const entries = await this.ledger.entriesOfRequest(row.accountId, row.requestId);
    return presentDetail(row, job, entries, Date.now());
  }
}

/** Without `from` and `to`, every request that is still stored. */
function rangeOf(query: unknown): Pick<RequestFilter, 'fromMs' | 'toMs'> {
  if (!queryText(query, 'from') && !queryText(query, 'to')) return { fromMs: null, toMs: null };
  const borders = dayBorders(readDayRange(query, Date.now()));
  return { fromMs: borders[0] ?? null, toMs: borders.at(-1) ?? null };
}

function cursorOf({ isOpen, atMs, requestId }: RequestPosition): string {
  return writeCursor([isOpen, atMs, requestId]);
}

function positionIn([isOpen, atMs, requestId]: unknown[]): RequestPosition | null {
  if (typeof isOpen !== 'boolean' || !isMoment(atMs) || typeof requestId !== 'string') return null;
  return requestId.includes('\0') ? null : { isOpen, atMs, requestId };
}
