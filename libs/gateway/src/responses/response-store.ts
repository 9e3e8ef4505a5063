import { Injectable } from '@nestjs/common';
import { PlatformError } from '#common';
import { ResponseStates } from '#jobs';
import { StoreBudgets } from '../request/store-budgets.js';

/** The account whose request asks for a stored response. */
export interface ResponseAsker {
  accountId: string;
  requestId: string;
}

/**
 * Responses that clients asked to store, within the time that a request may wait for the stores. All methods reject with
 * `SERVICE_UNAVAILABLE`.
 */
@Injectable()
export class ResponseStore {
  constructor(
    private readonly states: ResponseStates,
    private readonly budgets: StoreBudgets,
  ) {}

  /** True when the operator allows stored responses. */
  get isOn(): boolean {
    return this.states.isOn;
  }

  /** Resolves to true when an account may store another response. */
  async hasRoom({ accountId, requestId }: ResponseAsker): Promise<boolean> {
    return await this.within(requestId, this.states.hasRoom(accountId));
  }

  async add(id: string, state: object, { accountId, requestId }: ResponseAsker): Promise<void> {
    await this.within(requestId, this.states.add({ id, accountId }, state));
  }

  /** Resolves to null for a response that is unknown, deleted, expired or of another account. */
  async find(id: string, { accountId, requestId }: ResponseAsker): Promise<object | null> {
    return await this.within(requestId, this.states.find({ id, accountId }));
  }

  /** Resolves to false if there is none. */
  async delete(id: string, { accountId, requestId }: ResponseAsker): Promise<boolean> {
    return await this.within(requestId, this.states.delete({ id, accountId }));
  }

  private async within<Result>(requestId: string, work: Promise<Result>): Promise<Result> {
    try {
      return await this.budgets.of(requestId).within(work);
    } catch (error) {
      if (error instanceof PlatformError) throw error;
      const message = 'The service cannot reach its stored responses right now.';
      throw new PlatformError('SERVICE_UNAVAILABLE', message, null, { cause: error });
    }
  }
}
