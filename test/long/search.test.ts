import { describeRecall } from '../search/recall.ts';

describeRecall('the embedded store', { files: 100, most: 100 });
describeRecall('PostgreSQL', { files: 20, most: 50 });
describeRecall('PostgreSQL with pgvector', { files: 14, most: 40 });
