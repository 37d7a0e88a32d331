module.exports = require('./whole.cjs').withoutGrpc;
