import { Controller, Delete, Get, Param, Query } from '@nestjs/common';
import { ApiParam, ApiQuery } from '@nestjs/swagger';
import { PlatformError } from '#common';
import { ApiRoute, Exchange, type HttpExchange, queryFault, queryText } from '#platform/http';
import type { DeletedResponse, ResponsesItemList } from '../../contract/responses/responses.stored.js';
import type { ResponsesResponse } from '../../contract/responses/responses.response.js';
import { ResponseHistory, type StoredResponse } from './response-history.js';
import { type ItemPage, pageOf } from './stored-items.js';
import { deleteResponseDocument, findResponseDocument, listItemsDocument } from './stored-responses.document.js';

const idParameter = { name: 'id', type: String, example: 'resp_8f3a1b2c4d5e6f70-SLC' };
const defaultLimit = 20;
const maxLimit = 100;

/** Responses that were stored by `store: true`. They cost nothing here, and belong to their account. */
@Controller('responses/:id')
@ApiParam({ name: 'id', type: String, example: 'resp_8f14e45fceea167a5a36dedd4bea2543' })
export class StoredResponsesController {
  constructor(private readonly history: ResponseHistory) {}

  @Get()
  @ApiRoute(findResponseDocument)
  @ApiParam(idParameter)
  async find(
    @Param('id') id: string,
    @Query() query: unknown,
    @Exchange() http: HttpExchange,
  ): Promise<ResponsesResponse> {
    if (queryText(query, 'stream') === 'true') {
      throw queryFault('stream', 'stream must be false: the events of a stored response are not kept.');
    }
    return (await this.stored(id, http)).response;
  }

  @Get('input_items')
  @ApiRoute(listItemsDocument)
  @ApiParam(idParameter)
  @ApiQuery({ name: 'limit', required: false, type: 'integer', description: 'Items of a page: 1 to 100, default 20.' })
  @ApiQuery({ name: 'order', required: false, enum: ['asc', 'desc'], description: 'Default: newest first.' })
  @ApiQuery({ name: 'after', required: false, type: 'string', description: 'Id of the item before the page.' })
  async listItems(
    @Param('id') id: string,
    @Query() query: unknown,
    @Exchange() http: HttpExchange,
  ): Promise<ResponsesItemList> {
    const page = pageFrom(query);
    const list = pageOf((await this.stored(id, http)).items, page);
    if (list === null) throw queryFault('after', 'after must be the id of an item of this response.');
    return list;
  }

  @Delete()
  @ApiRoute(deleteResponseDocument)
  @ApiParam(idParameter)
  async delete(@Param('id') id: string, @Exchange() http: HttpExchange): Promise<DeletedResponse> {
    if (!(await this.history.delete(id, askerOf(http)))) throw notFound();
    return { id, object: 'response', deleted: true };
  }

  private async stored(id: string, http: HttpExchange): Promise<StoredResponse> {
    const stored = await this.history.find(id, askerOf(http));
    if (stored === null) throw notFound();
    return stored;
  }
}

function askerOf({ caller, request }: HttpExchange) {
  return { accountId: caller.accountId, requestId: request.id };
}

function notFound(): PlatformError {
  return new PlatformError('NOT_FOUND', 'There is no such response, it was not stored, or its time is over.', 'id');
}

function pageFrom(query: unknown): ItemPage {
  const limit = Number(queryText(query, 'limit') ?? defaultLimit);
  if (!Number.isInteger(limit) || limit < 1 || limit > maxLimit) {
    throw queryFault('limit', `limit must be a whole number from 1 to ${maxLimit}.`);
  }
  const order = queryText(query, 'order') ?? 'desc';
  if (order !== 'asc' && order !== 'desc') throw queryFault('order', 'order must be asc or desc.');
  return { limit, order, after: queryText(query, 'after') ?? null };
}
