import { writeFileSync } from 'node:fs';
import { inspect } from 'node:util';

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
    setTimeout(tellWhatIsOpen, TELL_AFTER_MS).unref();
  }
}

/** Jest is waited for 20 s after its last verdict: time to say what keeps it. */
const TELL_AFTER_MS = 5_000;

function tellWhatIsOpen() {
  console.error('still running after the last verdict, with open:');
  for (const handle of process._getActiveHandles()) console.error(`  ${inspect(handle, { depth: 1 })}`);
  console.error(`  resources: ${process.getActiveResourcesInfo().join(' ')}`);
}

function failures(files) {
  return files.flatMap((file) => [
    ...(file.testExecError ? [`${file.testFilePath}: could not be loaded`] : []),
    ...file.testResults
      .filter((t) => t.status === 'failed')
      .map((t) => `${file.testFilePath}: ${t.fullName}`),
  ]);
}
