use tidegate_units::{Bytes, Setting};

use super::*;
use crate::workload::text::Fault;

fn sampler(table: Table, rounding: Rounding) -> Sampler {
    let distribution = table.distribution();
    distribution.sampler(Some(rounding), 1460).unwrap()
}

/// Size at `u` in 10^−18, from decimals such as 0.15.
fn at(sampler: &Sampler, u: &str) -> u64 {
    sampler.at(crate::workload::text::scaled(u, 18).unwrap())
}

fn check(table: Table, rounding: Rounding, points: &[(&str, u64)]) {
    let sampler = sampler(table, rounding);
    for &(u, expected) in points {
        assert_eq!(at(&sampler, u), expected, "{table:?} {rounding:?} at {u}");
    }
}

#[test]
fn web_search_bytes_agree_with_values_worked_by_hand() {
    let samples = |ends: [u64; 8]| {
        let us = ["0", "0.15", "0.075", "0.175", "0.565", "0.985", "0.00001", "0.5300001"];
        us.into_iter().zip(ends).collect::<Vec<_>>()
    };
    // 0.175 is halfway from 10 000 to 20 000, 0.565 from 80 000 to 200 000, 0.985 from 10 to 30 MB.
    // 0.00001 / 0.15 · 10 000 = 0.666…; 80 000 + 120 000 · 1e-7 / 0.07 = 80 000.17….
    let up = [2, 10_000, 5_000, 15_000, 140_000, 20_000_000, 2, 80_001];
    check(Table::WebSearch, Rounding::CeilBytes, &samples(up));
    let down = [0, 10_000, 5_000, 15_000, 140_000, 20_000_000, 0, 80_000];
    check(Table::WebSearch, Rounding::TruncBytes, &samples(down));
    // Whole packets of 1460 bytes: 10 000 are 6.85, so 7; 5 000 are 3.42, so 4; 15 000 are 10.3, so
    // 11; 140 000 are 95.9, so 96; 20 000 000 are 13 698.6, so 13 699; 80 001 are 54.8, so 55.
    let packets = [0, 7, 4, 11, 96, 13_699, 1, 55].map(|packets| packets * 1460);
    check(Table::WebSearch, Rounding::CeilPackets, &samples(packets));
}

#[test]
fn data_mining_bytes_agree_with_values_worked_by_hand() {
    check(
        Table::DataMining,
        Rounding::TruncBytes,
        &[
            ("0", 0),
            ("0.05", 90),
            ("0.1", 180),
            // 180 + 36 · 1/10
            ("0.11", 183),
            ("0.85", 205_000),
            ("0.95", 3_160_000),
            // 3 160 000 + 96 840 000 · 1/3
            ("0.96", 35_440_000),
            // One step below and one above the knot at 0.98: slopes of 3228 MB and 45 GB.
            ("0.979999999999999999", 99_999_999),
            ("0.98", 100_000_000),
            ("0.980000000000000001", 100_000_000),
            ("0.99", 550_000_000),
            ("0.999999999999999999", 999_999_999),
        ],
    );
}

#[test]
fn cache_bytes_agree_with_values_worked_by_hand() {
    let common = [
        ("0.175", 1_000),
        ("0.35", 1_500),
        ("0.48", 15_000),
        ("0.79", 1_500_000),
        ("0.99", 4_000_000),
        ("0.995", 27_000_000),
    ];
    check(Table::Cache, Rounding::CeilBytes, &common);
    check(Table::Cache, Rounding::TruncBytes, &common);
    check(Table::Cache, Rounding::CeilBytes, &[("0", 500)]);
    // At probability zero this rule takes the middle between zero and the first knot.
    check(Table::Cache, Rounding::TruncBytes, &[("0", 250)]);
}

#[test]
fn packet_tables_agree_with_values_worked_by_hand() {
    let packets = |table, samples: &[(&str, u64)]| {
        let bytes: Vec<_> = samples.iter().map(|&(u, p)| (u, p * 1460)).collect();
        check(table, Rounding::CeilPackets, &bytes);
    };
    // A jump up to the second knot, then up: 6 + 7 · 0.1 = 6.7, so 7.
    packets(
        Table::WebSearchPackets,
        &[
            ("0", 6),
            ("0.1", 6),
            ("0.15", 6),
            ("0.150000001", 7),
            ("0.155", 7),
            ("0.2", 13),
            ("0.25", 16),
            ("0.985", 13_334),
        ],
    );
    packets(
        Table::DataMiningPackets,
        &[
            ("0.5", 1),
            ("0.500000001", 2),
            ("0.6", 2),
            ("0.85", 137),
            ("0.97", 34_387),
            ("0.995", 366_667),
        ],
    );
    // 1 + 23 · 0.5 = 12.5; 33 in all of 0.3 to 0.4; 667 to 6667 in one percent.
    packets(
        Table::HadoopPackets,
        &[("0.05", 13), ("0.3", 33), ("0.35", 33), ("0.4", 33), ("0.965", 3_667), ("0.98", 36_667)],
    );
    packets(
        Table::CachePackets,
        &[("0.35", 1), ("0.375", 2), ("0.43", 5), ("0.79", 1_000), ("0.995", 18_000)],
    );
    let hadoop = sampler(Table::Hadoop, Rounding::CeilBytes);
    assert_eq!(at(&hadoop, "0.05"), 18_250);
    assert_eq!(at(&hadoop, "1"), 333_333 * 1460);
}

#[test]
fn a_packet_table_can_be_drawn_in_bytes() {
    // 6.7 packets of 1460 bytes.
    check(Table::WebSearchPackets, Rounding::CeilBytes, &[("0.155", 9_782)]);
    check(Table::WebSearchPackets, Rounding::TruncBytes, &[("0.155", 9_782)]);
    let jumbo = Table::WebSearchPackets.distribution().sampler(None, 8960);
    assert_eq!(at(&jumbo.unwrap(), "0.1"), 6 * 8960);
}

#[test]
fn linear_means_are_exact() {
    for (table, millibytes) in [
        (Table::WebSearch, 1_711_250_000),
        (Table::DataMining, 12_658_198_600),
        (Table::Cache, 935_452_500),
    ] {
        let mean = |rounding| sampler(table, rounding).linear_mean().millibytes();
        assert_eq!(mean(Rounding::CeilBytes), millibytes, "{table:?}");
        assert_eq!(mean(Rounding::TruncBytes), millibytes, "{table:?}");
    }
    for (table, hundredths_of_packets) in [
        (Table::WebSearchPackets, 114_098),
        (Table::DataMiningPackets, 511_660),
        (Table::HadoopPackets, 283_240),
        (Table::CachePackets, 62_376),
    ] {
        let mean = sampler(table, Rounding::CeilPackets).linear_mean().millibytes();
        assert_eq!((mean + 7_300) / 14_600, hundredths_of_packets, "{table:?}");
    }
}

#[test]
fn means_of_drawn_sizes_are_exact() {
    for (table, hundredths_of_packets, payload) in [
        (Table::WebSearchPackets, 114_141, 1_666_451),
        (Table::DataMiningPackets, 511_685, 7_470_601),
        (Table::HadoopPackets, 283_285, 4_135_954),
        (Table::CachePackets, 62_409, 911_164),
    ] {
        let mean = sampler(table, Rounding::CeilPackets).mean().millibytes();
        // The published figures are truncated or rounded to two decimals.
        let hundredths = (mean + 7_300) / 14_600;
        assert!(hundredths.abs_diff(hundredths_of_packets) <= 1, "{table:?} {hundredths}");
        assert_eq!((mean + 500) / 1000, payload, "{table:?}");
    }
    // Half a byte more or less than on the lines; below 2 bytes, where 1/10 000 of 15 % are, one
    // more: 15e-6.
    let mean = |rounding| sampler(Table::WebSearch, rounding).mean();
    assert_eq!(mean(Rounding::CeilBytes).millibytes(), 1_711_250_500);
    assert_eq!(mean(Rounding::TruncBytes).millibytes(), 1_711_249_500);
    let more = mean(Rounding::CeilBytes).units() - Mean::whole(1_711_250).units();
    assert_eq!(more, u128::from(Mean::PER_BYTE) / 2 + 15 * u128::from(Mean::PER_BYTE) / 1_000_000);
}

#[test]
fn means_agree_with_an_average_over_the_whole_range() {
    for table in [Table::Cache, Table::WebSearch, Table::HadoopPackets, Table::DataMining] {
        for rounding in [Rounding::CeilBytes, Rounding::CeilPackets, Rounding::TruncBytes] {
            let sampler = sampler(table, rounding);
            let parts = 100_000;
            let sum: u128 =
                (0..parts).map(|i| u128::from(sampler.quantile(2 * i + 1, 2 * parts))).sum();
            let average = sum * 1_000 / u128::from(parts);
            let exact = sampler.mean().millibytes();
            // The midpoints of the parts are exact for lines, but not for the steps of rounding.
            let error = average.abs_diff(exact);
            assert!(error * 100_000 < exact, "{table:?} {rounding:?}: {average} {exact}");
        }
    }
}

#[test]
fn a_first_knot_above_zero_follows_the_rule() {
    let own = Distribution::parse("1000 0.5\n3000 1").unwrap();
    let up = own.sampler(Some(Rounding::CeilBytes), 1460).unwrap();
    assert_eq!((at(&up, "0.25"), at(&up, "0.5"), at(&up, "0.75")), (1_000, 1_000, 2_000));
    assert_eq!(up.linear_mean().millibytes(), 1_500_000);
    assert_eq!(up.mean().millibytes(), 1_500_250);
    let down = own.sampler(Some(Rounding::TruncBytes), 1460).unwrap();
    assert_eq!((at(&down, "0.25"), at(&down, "0.5"), at(&down, "0.75")), (500, 1_000, 2_000));
    // ½ · 1000 · ½ + 2000 · ½
    assert_eq!(down.linear_mean().millibytes(), 1_250_000);
}

#[test]
fn a_jump_at_one_probability_takes_the_smaller_size_there() {
    let own = Distribution::parse("100 0\n200 0.5\n900 0.5\n1000 1").unwrap();
    let sampler = own.sampler(None, 1460).unwrap();
    assert_eq!((at(&sampler, "0.5"), at(&sampler, "0.500000000000000001")), (200, 901));
    assert_eq!(sampler.linear_mean().millibytes(), 550_000);
}

#[test]
fn draws_follow_the_distribution() {
    let sampler = sampler(Table::WebSearch, Rounding::CeilBytes);
    let mut rng = Rng::new(1, 0);
    let draws: Vec<u64> = (0..100_000).map(|_| sampler.draw(&mut rng)).collect();
    for (size, share) in [(10_000, 0.15), (80_000, 0.53), (1_000_000, 0.7), (10_000_000, 0.97)] {
        let count = draws.iter().filter(|&&bytes| bytes <= size).count();
        let count = f64::from(u32::try_from(count).unwrap());
        // Four standard errors of at most 0.0016.
        assert!((count / 1e5 - share).abs() < 0.0064, "{size}: {count}");
    }
    let mean = draws.iter().sum::<u64>() / 100_000;
    // The standard deviation of a size is 3.8 MB, so the mean's is 12 KB.
    assert!(mean.abs_diff(1_711_250) < 48_000, "{mean}");
}

fn fault(text: &str) -> (u32, &'static str, Fault) {
    let error = Distribution::parse(text).unwrap_err();
    (error.line, error.column, error.fault)
}

#[test]
fn a_bad_table_names_line_column_and_fault() {
    assert_eq!(fault(""), (1, "lines", Fault::Empty));
    assert_eq!(fault("# only words\n\n"), (1, "lines", Fault::Empty));
    assert_eq!(fault("\n1000 1"), (2, "lines", Fault::Empty));
    assert_eq!(fault("0 0\n1000"), (2, "columns", Fault::ColumnCount));
    assert_eq!(fault("6 1 0\n6 1 0.15"), (1, "columns", Fault::ColumnCount));
    assert_eq!(fault("0,0\n1,,1"), (2, "columns", Fault::ColumnCount));
    assert_eq!(fault("size cdf\n0 0"), (1, "size", Fault::NotANumber));
    assert_eq!(fault("0 0\n-5 1"), (2, "size", Fault::Negative));
    assert_eq!(fault("0 0\n5 -1"), (2, "cdf", Fault::Negative));
    assert_eq!(fault("0 0\n5 nan\n6 1"), (2, "cdf", Fault::NotANumber));
    assert_eq!(fault("0 0\nNaN 1"), (2, "size", Fault::NotANumber));
    assert_eq!(fault("0 0\n5.5 1"), (2, "size", Fault::NotWhole));
    assert_eq!(fault("0 0\n10000 15\n20000 100"), (2, "cdf", Fault::TooLarge));
    assert_eq!(fault("0 0\n1e16 1"), (2, "size", Fault::TooLarge));
    assert_eq!(fault("9 0\n5 1"), (2, "size", Fault::BelowPrevious));
    assert_eq!(fault("0 0.5\n5 0.4\n6 1"), (2, "cdf", Fault::BelowPrevious));
    assert_eq!(fault("0 0\n# a note\n5 0.99"), (3, "cdf", Fault::NotOne));
    assert_eq!(fault("0 0\n0 1"), (2, "size", Fault::Zero));
    let error = Distribution::parse("0 0\n10000 15").unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 2, cdf: `15` is too large; accepted: a probability from 0 to 1; divide percentages by 100"
    );
}

#[test]
fn tables_may_be_written_in_many_ways() {
    let expected = Distribution::parse("0 0\n1000 0.5\n2000 1").unwrap();
    for text in [
        "0,0\n1000,0.5\n2000,1\n",
        "# size, cdf\r\n0 , 0.0\r\n1e3 , 5e-1\r\n2000.0 , 1.000 # end\r\n",
        "\t0\t0\n1000   .5\n2000\t1",
        "0 0\n1000 0.50000000000000000000001\n2000 1",
    ] {
        assert_eq!(Distribution::parse(text).as_ref(), Ok(&expected), "{text:?}");
    }
}

#[test]
fn sizes_are_settings_that_read_back() {
    for text in ["web-search", "hadoop-packets", "28KB", "3KB..60KB", "0 0; 10000 0.15; 30000 1"] {
        assert_eq!(Sizes::read(text).unwrap().write(), text);
    }
    assert_eq!(Sizes::read("28000B"), Ok(Sizes::fixed(Bytes(28_000))));
    let uniform = Sizes::read("3KB..60KB").unwrap().distribution();
    let sampler = uniform.sampler(None, 1460).unwrap();
    assert_eq!((sampler.quantile(0, 1), sampler.quantile(1, 2)), (3_000, 31_500));
    assert_eq!(sampler.quantile(1, 1), 60_000);
    for text in ["", "websearch", "60KB..3KB", "0B", "0 0; 5 0.5", "1..2", "2000000GB"] {
        let error = Sizes::read(text).unwrap_err().to_string();
        assert!(error.contains("web-search") && error.contains("3KB..60KB"), "{error}");
    }
}

#[test]
fn a_packet_size_is_1_to_65535_bytes() {
    let table = Table::WebSearchPackets.distribution();
    for mss in [0, 65_536] {
        let error = table.sampler(None, mss).unwrap_err();
        assert_eq!(error, ConfigError::out_of_range("mss", mss, "1 to 65535"));
    }
}
