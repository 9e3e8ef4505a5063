import { Injectable } from '@nestjs/common';
import { invalidField } from '#gateway';
import { type ResponseAsker, ResponseStore } from '#gateway/responses';
import { Logger } from '#platform/logging';
import type { ResponsesItem } from '../../contract/responses/responses.items.js';
import type { ResponsesRequest } from '../../contract/responses/responses.request.js';
import type { ResponsesResponse } from '../../contract/responses/responses.response.js';
import { responsesId } from './responses.resource.js';
import { type ListedItem, listItems } from './stored-items.js';

/** A stored response, and the items that led to it, oldest first. */
export interface StoredResponse {
  response: ResponsesResponse;
  items: ListedItem[];
}

/** A request with everything that it refers to. */
export interface OpenedRequest {
  /** With items instead of references to them. */
  request: ResponsesRequest;
  /** The conversation of `previous_response_id`; null without one, and where nothing is stored. */
  history: ResponsesItem[] | null;
  /** Null: the response is not to be stored. */
  store: ((response: ResponsesResponse) => Promise<ResponsesResponse>) | null;
}

/** Longest JSON of the items of a stored response, in characters. */
const maxStoredLength = 16_000_000;

/** Most items of a conversation. */
const maxItems = 10_000;

/** Most responses whose items a request may refer to: each is read from the database. */
const maxReferred = 32;

/** Ids of the items of a response: `msg_`, `rs_`, `fc_` or `ctc_`, the request's id, and a number. */
const outputItemId = /^(?:msg|rs|fc|ctc)_(.+)_\d+$/;

/** Stored responses, as the requests see them that continue one. */
@Injectable()
export class ResponseHistory {
  constructor(
    private readonly responses: ResponseStore,
    private readonly logger: Logger,
  ) {}

  /**
   * Looks up what a request refers to. Rejects with `INVALID_REQUEST` naming `previous_response_id` or `store`, before
   * anything is charged.
   */
  async open(request: ResponsesRequest, asker: ResponseAsker): Promise<OpenedRequest> {
    const history = await this.historyOf(request, asker);
    const input = typeof request.input === 'string' ? request.input : await this.withItems(request.input, asker);
    if ((history?.length ?? 0) + input.length > maxItems && typeof input !== 'string') {
      throw invalidField(`input must not continue a conversation to more than ${maxItems} items.`, 'input', 'too_big');
    }
    const opened = { request: { ...request, input }, history, store: null };
    // Where the operator does not allow it, the field has no effect, and the response says so. Absent, it means true.
    if (request.store === false || !this.responses.isOn) return opened;
    const items = listItems([...(history ?? []), ...inputItems(input)], asker.requestId);
    try {
      await this.checkRoom(items, asker);
    } catch (error) {
      if (request.store === true) throw error;
      return opened;
    }
    return { ...opened, store: (response) => this.store({ response, items }, asker) };
  }

  /** Null for one that is unknown, deleted, expired or of another account. Rejects with `SERVICE_UNAVAILABLE`. */
  async find(id: string, asker: ResponseAsker): Promise<StoredResponse | null> {
    if (!isResponseId(id)) return null;
    return (await this.responses.find(id, asker)) as StoredResponse | null;
  }

  /** False if there is none. Rejects with `SERVICE_UNAVAILABLE`. */
  async delete(id: string, asker: ResponseAsker): Promise<boolean> {
    return isResponseId(id) && (await this.responses.delete(id, asker));
  }

  private async historyOf(
    { previous_response_id: id }: ResponsesRequest,
    asker: ResponseAsker,
  ): Promise<ResponsesItem[] | null> {
    const field = 'previous_response_id';
    if (id === undefined || id === null || !this.responses.isOn) return null;
    const previous = await this.find(id, asker);
    if (previous === null) {
      const message = `${field}: there is no such response, it was not stored, or its time is over. Send its items as input instead.`;
      throw invalidField(message, field, 'previous_response_not_found');
    }
    return [...previous.items, ...previous.response.output] as ResponsesItem[];
  }

  /** Puts stored items in the place of references to them; others stay, and are refused by their name later. */
  private async withItems(input: ResponsesItem[], asker: ResponseAsker): Promise<ResponsesItem[]> {
    if (!this.responses.isOn) return input;
    const ids = input.map((item) => referredId(item));
    const owners = [...new Set(ids.flatMap((id) => outputItemId.exec(id ?? '')?.[1] ?? []))].map(responsesId);
    if (owners.length > maxReferred) {
      throw invalidField(`input must not refer to more than ${maxReferred} stored responses.`, 'input', 'too_big');
    }
    const found: StoredResponse[] = [];
    for (const id of owners) {
      const stored = await this.find(id, asker);
      if (stored !== null) found.push(stored);
    }
    const known = new Map(found.flatMap(({ response }) => response.output.map((item) => [item.id, item])));
    return input.map((item, index) => (known.get(ids[index] ?? '') as ResponsesItem | undefined) ?? item);
  }

  private async checkRoom(items: readonly ListedItem[], asker: ResponseAsker): Promise<void> {
    if (JSON.stringify(items).length > maxStoredLength) {
      const message = `store must be false for a conversation of more than ${maxStoredLength} characters.`;
      throw invalidField(message, 'store', 'too_big');
    }
    if (await this.responses.hasRoom(asker)) return;
    const message = 'store: the stored responses of this account take all of its space. Delete some, or wait.';
    throw invalidField(message, 'store', 'too_big');
  }

  /** The response as it is sent. The text is there already: where it cannot be stored, the response says so. */
  private async store(state: StoredResponse, asker: ResponseAsker): Promise<ResponsesResponse> {
    const { response } = state;
    try {
      await this.responses.add(response.id, state, asker);
      return response;
    } catch (error) {
      this.logger.warn({ requestId: asker.requestId, error }, 'a response could not be stored');
      const warning = { code: 'not_stored' as const, param: 'store', message: 'The response could not be stored.' };
      return { ...response, store: false, warnings: [...(response.warnings ?? []), warning] };
    }
  }
}

/** PostgreSQL refuses a text with a NUL, and none of our ids has anything but these. */
function isResponseId(id: string): boolean {
  return /^[\w-]{1,256}$/.test(id);
}

function inputItems(input: string | ResponsesItem[]): ResponsesItem[] {
  return typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : input;
}

function referredId(item: ResponsesItem): string | null {
  const isReference = item.type === 'item_reference' || (item.type === undefined && !('role' in item));
  return isReference ? (item.id ?? null) : null;
}
