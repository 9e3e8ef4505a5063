import { readCommandLine } from '../../../scripts/command-line.mjs';
import { about, options } from '../options.mjs';
import { agentsChecks } from './agents.mjs';
import { aiSdkChecks } from './ai-sdk.mjs';
import { instructorChecks } from './instructor.mjs';
import { langchainChecks } from './langchain.mjs';
import { openaiChecks } from './openai.mjs';

/*
 * Runs every check so many times against a running service, several at once, and prints a table. Exits with 1 unless
 * every response was valid. Reads the service from SLUICE_TEST_CLIENTS_SERVICE, as JSON: baseURL, apiKey, model.
 */
const { values } = readCommandLine(about, options);
const { runs } = values;
const service = JSON.parse(process.env.SLUICE_TEST_CLIENTS_SERVICE);
const checks = [openaiChecks, aiSdkChecks, langchainChecks, instructorChecks, agentsChecks]
  .flatMap((checksOf) => checksOf(service))
  .filter(({ name }) => name.startsWith(values.only));

async function runCheck({ name, run }) {
  const failures = [];
  let next = 0;
  const lane = async () => {
    while (next < runs) {
      const index = next++;
      try {
        await run(index);
      } catch (error) {
        failures.push(`run ${index}: ${describeError(error)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(runs, values.parallel) }, lane));
  return { name, runs, valid: runs - failures.length, failures };
}

/** The error with what caused it, since libraries wrap what the service said. */
function describeError(error) {
  const text = String(error?.stack ?? error).slice(0, 600);
  return error?.cause === undefined ? text : `${text}\ncaused by ${describeError(error.cause)}`;
}

const width = Math.max(...checks.map(({ name }) => name.length));
console.log(`| ${'check'.padEnd(width)} | runs | valid |\n| ${'-'.repeat(width)} | ---: | ----: |`);
const results = [];
for (const each of checks) {
  const result = await runCheck(each);
  results.push(result);
  console.log(`| ${result.name.padEnd(width)} | ${String(runs).padStart(4)} | ${String(result.valid).padStart(5)} |`);
  for (const failure of result.failures.slice(0, 3)) console.error(`${result.name}, ${failure}`);
}
process.exitCode = checks.length > 0 && results.every(({ valid }) => valid === runs) ? 0 : 1;
