export interface ChatPlan {
  model: string;
  /** Tokens of each response, and the pause of the test engine between two, in ms. */
  tokens: number;
  delayMs: number;
}

export function chatBody({ model, tokens, delayMs }: ChatPlan): string {
  const content = `Hello [[tokens=${tokens} delay=${delayMs}]]`;
  return JSON.stringify({ model, stream: true, messages: [{ role: 'user', content }] });
}
