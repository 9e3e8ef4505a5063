import { Injectable } from '#platform/injection';
import { ConsoleSessionsRepository } from './console-sessions.repository.js';
import { hashSessionToken, newLinkToken } from './session-token.js';

/** Makes one-time links that sign in to the console: `console/#/sign-in/<token>`. They can be used for 10 minutes. */
@Injectable()
export class ConsoleLinksService {
  constructor(private readonly repository: ConsoleSessionsRepository) {}

  /**
   * Returns the path of a link below the api's address. It signs in with the oldest ADMIN key of the account; default:
   * of an operator's account. Null: there is no such key.
   */
  async create(accountId: string | null = null): Promise<string | null> {
    const apiKeyId = await this.repository.findAdminKey(accountId);
    if (apiKeyId === null) return null;
    const token = newLinkToken();
    await this.repository.insertLink(hashSessionToken(token), apiKeyId);
    return `console/#/sign-in/${token}`;
  }
}
