use super::*;

#[test]
fn pieces_keep_their_order_and_the_first_error_ends_it() {
    let pieces: Vec<u64> = (0..50).collect();
    assert_eq!(
        each(&pieces, |it| Ok::<_, Error>(it * 2)).unwrap(),
        (0..50).map(|it| it * 2).collect::<Vec<_>>()
    );
    let error = each(&pieces, |it| match it {
        7 => Err(Error::Absent("7".to_owned())),
        _ => Ok(()),
    });
    assert!(matches!(error, Err(Error::Absent(_))));
    assert!(each(&[], |_: &u8| Ok::<_, Error>(())).unwrap().is_empty());
}
