// As Nest's documentation bundles an application whole: no package stays outside, what is not installed is left out.
const NOT_INSTALLED = ['@nestjs/microservices', '@nestjs/websockets', 'class-validator', 'class-transformer'];

const bundleOf = (options, { IgnorePlugin }, leftOut) => ({
  ...options,
  externals: [],
  plugins: [
    ...options.plugins,
    new IgnorePlugin({ resourceRegExp: new RegExp(`^(${leftOut.join('|')})(/|$)`) }),
  ],
});

module.exports = (options, bundler) => bundleOf(options, bundler, NOT_INSTALLED);
module.exports.withoutGrpc = (options, bundler) => ({
  ...bundleOf(options, bundler, [...NOT_INSTALLED, '@grpc/grpc-js']),
  entry: './src/missing.ts',
});
