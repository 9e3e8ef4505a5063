import { writeFileSync } from 'node:fs';

/**
 * A vitest reporter: writes errors outside of any test (an unhandled rejection, a crashed worker) to the file
 * SLUICE_STRAY_ERRORS. The JSON report omits them.
 */
export default class StrayErrorsReporter {
  onTestRunEnd(_modules, unhandledErrors) {
    const path = process.env.SLUICE_STRAY_ERRORS;
    if (!path || unhandledErrors.length === 0) return;
    writeFileSync(path, unhandledErrors.map(({ message }) => `${message}\n`).join(''));
  }
}
