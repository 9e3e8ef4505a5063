import { writeFileSync } from 'node:fs';

/**
 * A reporter of vitest: writes what broke outside of any test (an unhandled rejection, a worker that died) to the file
 * SLUICE_STRAY_ERRORS. The JSON report knows nothing of it.
 */
export default class StrayErrorsReporter {
  onTestRunEnd(_modules, unhandledErrors) {
    const path = process.env.SLUICE_STRAY_ERRORS;
    if (!path || unhandledErrors.length === 0) return;
    writeFileSync(path, unhandledErrors.map(({ message }) => `${message}\n`).join(''));
  }
}
