import { writeFileSync } from 'node:fs';

/**
 * A vitest reporter: writes errors outside of any test (an unhandled rejection, a crashed worker) to the file
 * SLUICE_TEST_STRAY_ERRORS, as a JSON list with the `file` whose tests ran, or null, and the `message` with its stack.
 * The JSON report omits them.
 */
export default class StrayErrorsReporter {
  onTestRunEnd(_modules, unhandledErrors) {
    const path = process.env.SLUICE_TEST_STRAY_ERRORS;
    if (!path || unhandledErrors.length === 0) return;
    const errors = unhandledErrors.map(({ stack, message, VITEST_TEST_PATH: file = null }) => ({
      file,
      message: stack ?? message,
    }));
    writeFileSync(path, JSON.stringify(errors));
  }
}
