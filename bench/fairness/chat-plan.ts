export interface ChatPlan {
  model: string;
  /** Mean tokens of a response, and the pause of the test engine between two, in ms. */
  tokens: number;
  delayMs: number;
}

/** Lengths differ by half of the mean either way: chats of equal length end together, and slots are free all at once. */
export function chatBody({ model, tokens: mean, delayMs }: ChatPlan): string {
  const tokens = Math.max(1, Math.round(mean * (0.5 + Math.random())));
  const content = `Hello [[tokens=${tokens} delay=${delayMs}]]`;
  return JSON.stringify({ model, stream: true, messages: [{ role: 'user', content }] });
}
