use super::*;
use crate::provider::any_order::RunFixture;
use crate::react::tests::scripts;

#[test]
fn every_request_of_a_recorded_run_is_made_again_byte_for_byte() {
    for (name, change, turns) in scripts() {
        let fixture = RunFixture::new();
        let reply = fixture.run_with(&turns, &change, &mut |_| ()).unwrap();
        let replayed = fixture.replay(reply.step_hash, |_| ());
        assert_eq!(replayed.difference, None, "{name}");
        assert!(replayed.requests >= replayed.turns && replayed.turns > 1, "{name}: {replayed:?}");
    }
}
