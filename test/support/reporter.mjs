import { writeFileSync } from 'node:fs';

/**
 * Hands the counts of one Jest run to test/run.mjs, which adds up several runs.
 * A file that could not be loaded has no tests to count, so it counts as one failed test.
 */
export default class CountsReporter {
  onRunComplete(_contexts, results) {
    const file = process.env.KLOCK_TEST_COUNTS;
    if (!file) return;
    const counts = {
      passed: results.numPassedTests,
      failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
      skipped: results.numPendingTests + results.numTodoTests,
      failures: failures(results.testResults),
    };
    writeFileSync(file, JSON.stringify(counts));
  }
}

function failures(files) {
  return files.flatMap((file) => [
    ...(file.testExecError ? [`${file.testFilePath}: could not be loaded`] : []),
    ...file.testResults
      .filter((t) => t.status === 'failed')
      .map((t) => `${file.testFilePath}: ${t.fullName}`),
  ]);
}
