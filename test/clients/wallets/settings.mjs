/** What the test asks of a client. */
export function readSettings() {
  return JSON.parse(process.env.SLUICE_TEST_CLIENT ?? '{}');
}

/** Prints results as one line of JSON. */
export function printResults(results) {
  process.stdout.write(`${JSON.stringify(results)}\n`);
}

/** A chat of a few tokens. */
export const chatBody = (model) => ({
  model,
  messages: [{ role: 'user', content: 'Hello' }],
  max_completion_tokens: 8,
});

/** The message of a failure; null without one. */
export async function refusalOf(run) {
  try {
    await run();
    return null;
  } catch (error) {
    return String(error?.message ?? error);
  }
}
