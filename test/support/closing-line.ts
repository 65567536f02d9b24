// Plain lines at the end of a run, for whoever reads the output by program: the tests that passed only at their second attempt, and the counts.
import type { Reporter, TestModule } from 'vitest/node';

export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    for (const test of tests) count[test.result().state]++;
    const repeated = tests.filter((test) => test.diagnostic()?.flaky);
    if (repeated.length > 0) process.stdout.write('\npassed only at the second attempt:\n');
    for (const { module, fullName } of repeated) process.stdout.write(`  ${module.relativeModuleId} > ${fullName}\n`);
    process.stdout.write(`\n${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped\n`);
  }
}
