import { Agent, request } from 'undici';
import { seededRandom } from '#test/seeded-random';
import { percentile, type Figures } from '../report.js';

export interface ConversationPlan {
  conversations: number;
  turns: number;
  /** Length of the system prompt of each conversation, in characters. */
  instructions: number;
  /** Output tokens per request. */
  tokens: number;
  /** Concurrent requests. */
  lanes: number;
}

export interface ConversationTarget {
  /** `http://127.0.0.1:<port>` of the API replicas, used in rotation. */
  origins: readonly string[];
  key: string;
  modelId: string;
}

interface Message {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

interface Turn {
  text: string;
  firstTokenMs: number;
  promptTokens: number;
  cachedTokens: number;
}

interface Chunk {
  choices: { delta: { content?: string } }[];
  usage?: { prompt_tokens: number; prompt_tokens_details?: { cached_tokens?: number } } | null;
  error?: { message: string };
}

const words =
  'harbour lantern copper meadow engine violet ladder thunder garden silver window basket river marble feather winter'.split(
    ' ',
  );

/** Deterministic per seed. */
function randomText(characters: number, random: () => number): string {
  let text = '';
  while (text.length < characters) {
    text += `${words[Math.floor(random() * words.length)] ?? ''}${Math.floor(random() * 1_000)} `;
  }
  return text;
}

/**
 * Runs many conversations in parallel: all first turns, then all second turns, in a new order each time, like users who
 * read before they reply. No two rounds share a text.
 */
export class Conversations {
  private asked = 0;
  private readonly agent = new Agent({ connections: 64, headersTimeout: 0, bodyTimeout: 0 });

  constructor(
    private readonly target: ConversationTarget,
    private readonly plan: ConversationPlan,
  ) {}

  async run(seed: number): Promise<Figures> {
    const { conversations, turns, instructions } = this.plan;
    const random = seededRandom(seed);
    const all = Array.from({ length: conversations }, (): Message[] => [
      { role: 'system', content: `You answer briefly. ${randomText(instructions, random)}` },
    ]);
    const first: Turn[] = [];
    const later: Turn[] = [];
    const startedAt = performance.now();
    for (let turn = 0; turn < turns; turn += 1) {
      const order = all.toSorted(() => random() - 0.5);
      await this.inLanes(order, async (messages) => {
        messages.push({ role: 'user', content: `Question ${turn}: ${randomText(40, random)}` });
        const answer = await this.ask(messages);
        messages.push({ role: 'assistant', content: answer.text });
        (turn === 0 ? first : later).push(answer);
      });
    }
    const seconds = (performance.now() - startedAt) / 1_000;
    const sum = (pick: (turn: Turn) => number) => later.reduce((total, turn) => total + pick(turn), 0);
    const times = later.map(({ firstTokenMs }) => firstTokenMs);
    return {
      turnsPerSecond: (first.length + later.length) / seconds,
      laterCachedShare: sum(({ cachedTokens }) => cachedTokens) / sum(({ promptTokens }) => promptTokens),
      laterFirstTokenMeanMs: times.reduce((total, time) => total + time, 0) / times.length,
      laterFirstTokenP50Ms: percentile(times, 50),
      laterFirstTokenP95Ms: percentile(times, 95),
      promptTokens: sum(({ promptTokens }) => promptTokens) / later.length,
    };
  }

  async close(): Promise<void> {
    await this.agent.close();
  }

  private async inLanes(list: readonly Message[][], work: (messages: Message[]) => Promise<void>): Promise<void> {
    const left = [...list];
    const lane = async () => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) await work(next);
    };
    await Promise.all(Array.from({ length: this.plan.lanes }, lane));
  }

  private async ask(messages: readonly Message[]): Promise<Turn> {
    const { origins, key, modelId } = this.target;
    const origin = origins[this.asked++ % origins.length] ?? '';
    const startedAt = performance.now();
    const { statusCode, body } = await request(`${origin}/api/v1/chat/completions`, {
      method: 'POST',
      dispatcher: this.agent,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: modelId,
        messages,
        max_completion_tokens: this.plan.tokens,
        temperature: 0,
        stream: true,
        stream_options: { include_usage: true },
      }),
    });
    if (statusCode !== 200) throw new Error(`HTTP ${statusCode}: ${await body.text()}`);
    return await readTurn(body, startedAt);
  }
}

async function readTurn(body: AsyncIterable<Uint8Array>, startedAt: number): Promise<Turn> {
  const turn: Turn = { text: '', firstTokenMs: Number.NaN, promptTokens: 0, cachedTokens: 0 };
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of body) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (!line.startsWith('data: ') || line === 'data: [DONE]') continue;
      const { choices, usage, error } = JSON.parse(line.slice(6)) as Chunk;
      if (error) throw new Error(error.message);
      const text = choices[0]?.delta.content ?? '';
      if (text !== '' && turn.text === '') turn.firstTokenMs = performance.now() - startedAt;
      turn.text += text;
      turn.promptTokens = usage?.prompt_tokens ?? turn.promptTokens;
      turn.cachedTokens = usage?.prompt_tokens_details?.cached_tokens ?? turn.cachedTokens;
    }
  }
  return turn;
}
