// The tests use the PostgreSQL server of `retinue demo cluster`.
export * from '../../../examples/demo/cluster/postgres-server.ts';
