/** What the test asks of a client. */
export function readSettings() {
  return JSON.parse(process.env.SLUICE_TEST_CLIENT ?? '{}');
}

/** Prints results as one line of JSON, large integers as text. */
export function printResults(results) {
  const text = JSON.stringify(results, (_key, value) => (typeof value === 'bigint' ? value.toString() : value));
  process.stdout.write(`${text}\n`);
}
