import { type LocalRun, tinyModel } from './local-run.js';

/** A running `npm start`, as its clients and its operator see it. */
export class Installation {
  private readonly baseUrl: string;

  constructor(readonly run: LocalRun) {
    this.baseUrl = `${run.origin}/api/v1`;
  }

  /** Asks for a response that is stored; returns its id. */
  async respond(key: string): Promise<string> {
    const response = await fetch(`${this.baseUrl}/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: tinyModel, input: 'How are you today?', max_output_tokens: 16, store: true }),
    });
    const body = (await response.json()) as { id?: string };
    if (!response.ok || body.id === undefined) throw new Error(JSON.stringify(body));
    return body.id;
  }

  async readResponse(key: string, id: string): Promise<number> {
    return (await fetch(`${this.baseUrl}/responses/${id}`, { headers: { authorization: `Bearer ${key}` } })).status;
  }

  /** The table of `sluice accounts list`, with keys and balances. */
  async accounts(): Promise<string> {
    return (await this.run.sluice('accounts', 'list')).stdout;
  }
}
