export { capabilityTable, contractCases, driverContract } from './contract.js';
export { Clients, type ContractCase, type DriverHarness, type TestRunner } from './harness.js';
