export { KlockMicroservice, klockMicroservice } from '../nest-server/index.js';
export * from '../server/index.js';
