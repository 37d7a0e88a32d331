import type { Capabilities } from '../../core/index.js';
import { exclusionCases } from './exclusion-cases.js';
import { Clients, type ContractCase, type DriverHarness, type TestRunner } from './harness.js';
import { leaseCases } from './lease-cases.js';
import { revokeCases } from './revoke-cases.js';
import { sectionCases } from './section-cases.js';
import { telemetryCases } from './telemetry-cases.js';

/** What one case may take: the slowest waits for three leases. */
const CASE_LEASES = 10;
const CASE_SLACK_MS = 20_000;

/** Everything every driver owes. */
export const contractCases: readonly ContractCase[] = [
  ...exclusionCases,
  ...leaseCases,
  ...revokeCases,
  ...sectionCases,
  ...telemetryCases,
];

/**
 * Registers the contract suite for one driver with your test runner: `driverContract(harness, { describe, it, beforeAll, afterAll })`.
 * Cases that need a capability the driver does not claim are left out.
 */
export function driverContract(harness: DriverHarness, runner: TestRunner): void {
  runner.describe(`contract: ${harness.name}`, () => {
    runner.beforeAll(async () => await harness.start?.());
    runner.afterAll(async () => await harness.stop?.());
    for (const owed of contractCases) {
      if (owed.needs?.(harness.capabilities) === false) continue;
      const body = async (): Promise<void> => {
        await using clients = new Clients(harness);
        await owed.run(clients);
      };
      runner.it(owed.title, body, harness.ttlMs * CASE_LEASES + CASE_SLACK_MS);
    }
  });
}

/** The drivers' capabilities as a Markdown table, for the docs. */
export function capabilityTable(drivers: Readonly<Record<string, Capabilities>>): string {
  const names = Object.keys(drivers);
  const rows = (Object.keys(Object.values(drivers)[0] ?? {}) as (keyof Capabilities)[]).map(
    (row) => `| ${row} | ${names.map((name) => String(drivers[name]?.[row])).join(' | ')} |`,
  );
  return [`| capability | ${names.join(' | ')} |`, `|---|${names.map(() => '---|').join('')}`, ...rows].join(
    '\n',
  );
}
