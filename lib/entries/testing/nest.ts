export * from '../../nest-testing/index.js';
