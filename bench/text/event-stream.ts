interface ChatChunk {
  choices: { delta: { content?: string; reasoning_content?: string } }[];
  usage?: {
    prompt_tokens: number;
    completion_tokens: number;
    prompt_tokens_details?: { cached_tokens?: number };
  } | null;
  error?: { message: string };
}

/** Contents of one event stream. */
export interface StreamRecord {
  pieceMs: number[];
  promptTokens: number;
  cachedTokens: number;
  tokens: number;
}

/**
 * Reads the event stream of a chat completion and records the arrival time of each piece of text. Rejects on an error
 * event.
 */
export async function recordChatStream(body: AsyncIterable<Uint8Array>, nowMs: () => number): Promise<StreamRecord> {
  const record: StreamRecord = { pieceMs: [], promptTokens: 0, cachedTokens: 0, tokens: 0 };
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of body) {
    const at = nowMs();
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line.startsWith('data: ') && line !== 'data: [DONE]')
        note(record, JSON.parse(line.slice(6)) as ChatChunk, at);
    }
  }
  return record;
}

function note(record: StreamRecord, chunk: ChatChunk, at: number): void {
  if (chunk.error) throw new Error(chunk.error.message);
  const delta = chunk.choices[0]?.delta;
  if (delta?.content || delta?.reasoning_content) record.pieceMs.push(at);
  if (chunk.usage) {
    record.promptTokens = chunk.usage.prompt_tokens;
    record.tokens = chunk.usage.completion_tokens;
    record.cachedTokens = chunk.usage.prompt_tokens_details?.cached_tokens ?? 0;
  }
}
