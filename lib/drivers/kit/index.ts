export { HandoverDriver } from './handover-driver.js';
