import type { Platform } from '#test/platform';

const path = '/api/v1/chat/completions';

/** A chat of the deterministic engine; for its directives see `#test/deterministic-engine`. */
export interface ChatOptions {
  directives: string;
  /** Varies the prompt, and thereby the response. */
  text?: string;
  model?: string;
  /** Index of the API replica. */
  replica?: number;
  key?: string;
  body?: object;
  headers?: Record<string, string>;
}

export interface WholeResponse {
  requestId: string;
  status: number;
  headers: Headers;
  /** The text, or null for an error response. */
  text: string | null;
  errorCode: string | null;
  completionTokens: number;
  /** Time from the first byte sent to the complete response. */
  tookMs: number;
}

interface ResponseBody {
  choices?: { message: { content: string } }[];
  usage?: { completion_tokens: number };
  error?: { code: string };
}

function send(platform: Platform, options: ChatOptions, stream: boolean, signal?: AbortSignal): Promise<Response> {
  const { directives, text = 'Fault', model = 'tiny-llama', replica = 0, key = platform.inferenceKey } = options;
  const messages = [{ role: 'user', content: contentOf({ directives, text }) }];
  return fetch(`${platform.origins[replica]}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...options.headers },
    body: JSON.stringify({ model, messages, stream, ...options.body }),
    signal,
  });
}

export function contentOf({ directives, text }: { directives: string; text: string }): string {
  return `${text} [[${directives}]]`;
}

export async function askWhole(platform: Platform, options: ChatOptions, signal?: AbortSignal): Promise<WholeResponse> {
  const startedAt = performance.now();
  const response = await send(platform, options, false, signal);
  const body = (await response.json()) as ResponseBody;
  return {
    requestId: response.headers.get('cf-ray') ?? '',
    status: response.status,
    headers: response.headers,
    text: body.choices?.[0]?.message.content ?? null,
    errorCode: body.error?.code ?? null,
    completionTokens: body.usage?.completion_tokens ?? 0,
    tookMs: performance.now() - startedAt,
  };
}

/** A streamed chat that is being read. */
export class ChatStreamReader {
  /** Words received so far. */
  tokens = 0;
  text = '';
  /** Code of the error frame that ended it. */
  errorCode: string | null = null;
  isComplete = false;
  readonly requestId: string;
  /** Resolves when the stream has ended for any reason. */
  readonly ended: Promise<void>;
  private leftover = '';
  private wake: () => void = () => undefined;

  private constructor(
    response: Response,
    private readonly connection: AbortController,
  ) {
    this.requestId = response.headers.get('cf-ray') ?? '';
    this.ended = this.read(response);
  }

  /** Rejects if the response is not a stream. */
  static async open(platform: Platform, options: ChatOptions): Promise<ChatStreamReader> {
    const connection = new AbortController();
    const response = await send(platform, options, true, connection.signal);
    if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
    return new ChatStreamReader(response, connection);
  }

  /** Closes the connection at once. */
  leave(): void {
    this.connection.abort();
  }

  async untilTokens(count: number): Promise<void> {
    while (this.tokens < count) {
      const next = new Promise<void>((resolve) => (this.wake = resolve));
      const isOver = await Promise.race([next.then(() => false), this.ended.then(() => true)]);
      if (isOver && this.tokens < count) throw new Error(`the stream ended after ${this.tokens} of ${count} words`);
    }
  }

  private async read(response: Response): Promise<void> {
    const decoder = new TextDecoder();
    try {
      for await (const bytes of response.body ?? []) {
        this.leftover += decoder.decode(bytes as Uint8Array, { stream: true });
        const frames = this.leftover.split('\n\n');
        this.leftover = frames.pop() ?? '';
        for (const frame of frames) this.take(frame);
        this.wake();
      }
    } catch {
      // The connection was closed by either side; the fields contain what was read.
    }
  }

  private take(frame: string): void {
    if (!frame.startsWith('data: ')) return;
    const data = frame.slice(6);
    if (data === '[DONE]') {
      this.isComplete = true;
      return;
    }
    const { choices, error } = JSON.parse(data) as {
      choices?: { delta: { content?: string } }[];
      error?: { code: string };
    };
    this.errorCode ??= error?.code ?? null;
    const content = choices?.[0]?.delta.content ?? '';
    if (content === '') return;
    this.tokens += 1;
    this.text += content;
  }
}
